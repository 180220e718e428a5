//go:build cgo && linux

#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef void *H;

struct config {
    bool progress;
    bool listen;
    int32_t port;
    int32_t sync; // 2: reader-writer
    uint32_t workers;
    uint64_t pthr_us;
    uint64_t lthr_us;
    bool telemetry;
};

#define FUNCTIONS(R, O)                                                                                          \
    R(create_configured_agent, (const char *, const struct config *, H *))                                       \
    R(destroy_agent, (H))                                                                                        \
    R(create_params, (H *))                                                                                      \
    R(params_add, (H, const char *, const char *))                                                               \
    R(destroy_params, (H))                                                                                       \
    R(create_backend, (H, const char *, H, H *))                                                                 \
    R(destroy_backend, (H))                                                                                      \
    R(create_reg_dlist, (int, H *))                                                                              \
    R(reg_dlist_add_desc, (H, uintptr_t, size_t, uint64_t, const void *, size_t))                                \
    R(destroy_reg_dlist, (H))                                                                                    \
    R(register_mem, (H, H, H))                                                                                   \
    R(deregister_mem, (H, H, H))                                                                                 \
    R(get_local_md, (H, void **, size_t *))                                                                      \
    R(load_remote_md, (H, const void *, size_t, char **))                                                        \
    R(check_remote_md, (H, const char *, H))                                                                     \
    R(invalidate_remote_md, (H, const char *))                                                                   \
    R(create_xfer_dlist, (int, H *))                                                                             \
    R(xfer_dlist_add_desc, (H, uintptr_t, size_t, uint64_t))                                                     \
    R(destroy_xfer_dlist, (H))                                                                                   \
    R(create_xfer_req, (H, int, H, H, const char *, H *, H))                                                     \
    R(post_xfer_req, (H, H, H))                                                                                  \
    R(get_xfer_status, (H, H))                                                                                   \
    R(release_xfer_req, (H, H))                                                                                  \
    R(destroy_xfer_req, (H))                                                                                     \
    R(gen_notif, (H, const char *, const void *, size_t, H))                                                     \
    R(create_notif_map, (H *))                                                                                   \
    R(destroy_notif_map, (H))                                                                                    \
    R(get_notifs, (H, H, H))                                                                                     \
    R(notif_map_size, (H, size_t *))                                                                             \
    R(notif_map_get_agent_at, (H, size_t, const char **))                                                        \
    R(notif_map_get_notifs_size, (H, const char *, size_t *))                                                    \
    R(notif_map_get_notif, (H, const char *, size_t, const void **, size_t *))                                   \
    R(notif_map_clear, (H))                                                                                      \
    O(create_opt_args, (H *))                                                                                    \
    O(destroy_opt_args, (H))                                                                                     \
    O(opt_args_set_notif_msg, (H, const void *, size_t))                                                         \
    O(opt_args_set_has_notif, (H, bool))                                                                         \
    O(opt_args_set_ip_addr, (H, const char *))                                                                   \
    O(opt_args_set_port, (H, uint16_t))                                                                          \
    O(fetch_remote_md, (H, const char *, H))                                                                     \
    O(get_available_plugins, (H, H *))                                                                           \
    O(string_list_size, (H, size_t *))                                                                           \
    O(string_list_get, (H, size_t, const char **))                                                               \
    O(destroy_string_list, (H))

#define DECLARE(name, args) int(*name) args;
static struct {
    FUNCTIONS(DECLARE, DECLARE)
} api;

#define REQUIRED(name, args) {"nixl_capi_" #name, (void **)&api.name, 1},
#define OPTIONAL(name, args) {"nixl_capi_" #name, (void **)&api.name, 0},
static const struct {
    const char *name;
    void **at;
    int required;
} table[] = {FUNCTIONS(REQUIRED, OPTIONAL)};

enum { functions = sizeof table / sizeof table[0] };

static void say(char *err, size_t len, const char *text) { snprintf(err, len, "%s", text ? text : "unknown"); }

int kvn_preload(const char *path, char *err, size_t errlen) {
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL)) return 0;
    say(err, errlen, dlerror());
    return -1;
}

int kvn_open(const char *path, char *err, size_t errlen) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        say(err, errlen, dlerror());
        return -1;
    }
    size_t used = 0;
    int missing = 0;
    err[0] = 0;
    for (int i = 0; i < functions; i++) {
        *table[i].at = dlsym(lib, table[i].name);
        if (*table[i].at || !table[i].required) continue;
        missing++;
        int n = snprintf(err + used, errlen - used, "%s%s", used ? ", " : "no function ", table[i].name);
        if (n > 0 && (size_t)n < errlen - used) used += (size_t)n;
    }
    if (missing) {
        dlclose(lib);
        return -1;
    }
    return 0;
}

int kvn_has(const char *name) {
    for (int i = 0; i < functions; i++)
        if (!strcmp(table[i].name, name)) return *table[i].at != NULL;
    return 0;
}

const char *kvn_name(int i, int *required) {
    if (i < 0 || i >= functions) return NULL;
    *required = table[i].required;
    return table[i].name;
}

struct search {
    const char *part;
    char *out;
    size_t len;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *s = data;
    const char *base = strrchr(info->dlpi_name, '/');
    if (!base || !strstr(base, s->part)) return 0;
    snprintf(s->out, s->len, "%s", info->dlpi_name);
    return 1;
}

int kvn_mapped(const char *part, char *out, size_t outlen) {
    struct search s = {part, out, outlen};
    return dl_iterate_phdr(visit, &s);
}

void kvn_setenv(const char *name, const char *value) { setenv(name, value, 0); }

int kvn_create_agent(const char *name, int port, uint64_t pthr_us, uint64_t lthr_us, H *agent) {
    struct config c = {.progress = true,
                       .listen = port > 0,
                       .port = port,
                       .sync = 2,
                       .workers = 1,
                       .pthr_us = pthr_us,
                       .lthr_us = lthr_us};
    return api.create_configured_agent(name, &c, agent);
}

int kvn_destroy_agent(H agent) { return api.destroy_agent(agent); }

int kvn_create_backend(H agent, const char *type, const char **kv, int pairs, H *backend) {
    H params = NULL;
    int rc = api.create_params(&params);
    for (int i = 0; rc == 0 && i < pairs; i++) rc = api.params_add(params, kv[2 * i], kv[2 * i + 1]);
    if (rc == 0) rc = api.create_backend(agent, type, params, backend);
    if (params) api.destroy_params(params);
    return rc;
}

int kvn_destroy_backend(H backend) { return api.destroy_backend(backend); }

int kvn_plugins(H agent, char *out, size_t outlen) {
    out[0] = 0;
    if (!api.get_available_plugins || !api.string_list_size || !api.string_list_get || !api.destroy_string_list) return -7;
    H list = NULL;
    int rc = api.get_available_plugins(agent, &list);
    size_t n = 0, used = 0;
    if (rc == 0) rc = api.string_list_size(list, &n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const char *s = NULL;
        rc = api.string_list_get(list, i, &s);
        if (rc || !s) continue;
        int k = snprintf(out + used, outlen - used, "%s%s", used ? "," : "", s);
        if (k < 0 || (size_t)k >= outlen - used) break;
        used += (size_t)k;
    }
    if (list) api.destroy_string_list(list);
    return rc;
}

int kvn_register(H agent, uintptr_t addr, size_t len, uint64_t dev, int remove) {
    H list = NULL;
    int rc = api.create_reg_dlist(0, &list);
    if (rc == 0) rc = api.reg_dlist_add_desc(list, addr, len, dev, NULL, 0);
    if (rc == 0) rc = remove ? api.deregister_mem(agent, list, NULL) : api.register_mem(agent, list, NULL);
    if (list) api.destroy_reg_dlist(list);
    return rc;
}

int kvn_local_md(H agent, void **data, size_t *len) { return api.get_local_md(agent, data, len); }
int kvn_load_md(H agent, const void *data, size_t len, char **name) { return api.load_remote_md(agent, data, len, name); }
int kvn_check_md(H agent, const char *name) { return api.check_remote_md(agent, name, NULL); }
int kvn_invalidate_md(H agent, const char *name) { return api.invalidate_remote_md(agent, name); }

int kvn_fetch_md(H agent, const char *name, const char *ip, int port) {
    if (!api.fetch_remote_md || !api.create_opt_args || !api.destroy_opt_args || !api.opt_args_set_ip_addr || !api.opt_args_set_port)
        return -7;
    H opt = NULL;
    int rc = api.create_opt_args(&opt);
    if (rc == 0) rc = api.opt_args_set_ip_addr(opt, ip);
    if (rc == 0) rc = api.opt_args_set_port(opt, (uint16_t)port);
    if (rc == 0) rc = api.fetch_remote_md(agent, name, opt);
    if (opt) api.destroy_opt_args(opt);
    return rc;
}

int kvn_write(H agent, int read, const char *peer, uintptr_t src, size_t len, uintptr_t dst, uint64_t dev, const void *note,
              size_t notelen, H *req, int *stage) {
    H local = NULL, remote = NULL, opt = NULL;
    *req = NULL;
    *stage = 0;
    int rc = api.create_xfer_dlist(0, &local);
    if (rc == 0) rc = api.create_xfer_dlist(0, &remote);
    if (rc == 0) rc = api.xfer_dlist_add_desc(local, src, len, 0);
    if (rc == 0) rc = api.xfer_dlist_add_desc(remote, dst, len, dev);
    if (rc == 0 && note) {
        rc = -7;
        if (api.create_opt_args && api.destroy_opt_args && api.opt_args_set_notif_msg && api.opt_args_set_has_notif) {
            rc = api.create_opt_args(&opt);
            if (rc == 0) rc = api.opt_args_set_notif_msg(opt, note, notelen);
            if (rc == 0) rc = api.opt_args_set_has_notif(opt, true);
        }
    }
    if (rc == 0) {
        *stage = 1;
        rc = api.create_xfer_req(agent, read ? 0 : 1, local, remote, peer, req, opt);
        if (rc != 0) *req = NULL; // older libraries leave a dead handle here
    }
    if (local) api.destroy_xfer_dlist(local);
    if (remote) api.destroy_xfer_dlist(remote);
    if (opt) api.destroy_opt_args(opt);
    if (rc != 0) return rc;
    *stage = 2;
    return api.post_xfer_req(agent, *req, NULL);
}

int kvn_status(H agent, H req) { return api.get_xfer_status(agent, req); }

int kvn_free(H agent, H req) {
    int rc = api.release_xfer_req(agent, req);
    if (rc == 0) rc = api.destroy_xfer_req(req);
    return rc;
}

int kvn_notify(H agent, const char *peer, const void *msg, size_t len) { return api.gen_notif(agent, peer, msg, len, NULL); }

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void kvn_idle(H agent, H map, int fd, int64_t quiet_ns, int64_t idle_ns) {
    int64_t start = now_ns(), spent = 0;
    do {
        int64_t pause = (quiet_ns + spent) / 64;
        if (pause < 10000) pause = 10000;
        if (pause > idle_ns) pause = idle_ns;
        struct timespec t = {.tv_sec = pause / 1000000000, .tv_nsec = pause % 1000000000};
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (ppoll(&p, 1, &t, NULL) > 0) {
            uint64_t n;
            if (read(fd, &n, sizeof n) < 0) return;
            return;
        }
        size_t agents = 0;
        api.get_notifs(agent, map, NULL);
        if (api.notif_map_size(map, &agents) != 0 || agents > 0) return;
        spent = now_ns() - start;
    } while (spent < 200000000);
}

int kvn_create_map(H *map) { return api.create_notif_map(map); }
int kvn_destroy_map(H map) { return api.destroy_notif_map(map); }

static int grow(char **out, size_t *cap, size_t need) {
    if (need <= *cap) return 0;
    size_t c = *cap ? *cap : 4096;
    while (c < need) c *= 2;
    char *p = realloc(*out, c);
    if (!p) return -1;
    *out = p;
    *cap = c;
    return 0;
}

int kvn_notices(H agent, H map, size_t most, size_t longest, char **out, size_t *outlen, size_t *n, size_t *skipped) {
    size_t agents = 0, cap = 0;
    *out = NULL;
    *outlen = *n = *skipped = 0;
    int rc = api.get_notifs(agent, map, NULL);
    // Also after an error: what other backends brought is in the map.
    if (api.notif_map_size(map, &agents) != 0 || agents == 0) return rc;
    for (size_t i = 0; i < agents; i++) {
        const char *name = NULL;
        size_t count = 0;
        if (api.notif_map_get_agent_at(map, i, &name) != 0 || !name || api.notif_map_get_notifs_size(map, name, &count) != 0) {
            ++*skipped;
            continue;
        }
        size_t namelen = strlen(name);
        for (size_t j = 0; j < count; j++) {
            const void *msg = NULL;
            size_t len = 0;
            if (j >= most || namelen > 65536 || api.notif_map_get_notif(map, name, j, &msg, &len) != 0 || len > longest ||
                grow(out, &cap, *outlen + 8 + namelen + len) != 0) {
                ++*skipped;
                continue;
            }
            uint32_t head[2] = {(uint32_t)namelen, (uint32_t)len};
            memcpy(*out + *outlen, head, 8);
            memcpy(*out + *outlen + 8, name, namelen);
            if (len) memcpy(*out + *outlen + 8 + namelen, msg, len);
            *outlen += 8 + namelen + len;
            ++*n;
        }
    }
    api.notif_map_clear(map);
    return rc;
}
