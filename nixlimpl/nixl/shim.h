// The part of NIXL's C interface that this package calls, in our own words. Every
// function is found by dlsym; a missing optional one is a missing feature.
#ifndef KVSETTLE_NIXL_SHIM_H
#define KVSETTLE_NIXL_SHIM_H

#include <stddef.h>
#include <stdint.h>

// kvn_open loads the library at path, once per process. It returns 0, or -1 with a
// text in err: the dynamic linker's, or the names of missing required functions.
int kvn_open(const char *path, char *err, size_t errlen);

// kvn_preload loads a library that the next one needs; it stays loaded.
int kvn_preload(const char *path, char *err, size_t errlen);

// kvn_has says whether the function of that name was found.
int kvn_has(const char *name);

// kvn_name enumerates the functions by index, required ones first; NULL ends.
const char *kvn_name(int i, int *required);

// kvn_mapped writes the path of a loaded library whose file name contains part.
int kvn_mapped(const char *part, char *out, size_t outlen);

void kvn_setenv(const char *name, const char *value);


int kvn_create_agent(const char *name, int port, uint64_t pthr_us, uint64_t lthr_us, void **agent);
int kvn_destroy_agent(void *agent);
int kvn_create_backend(void *agent, const char *type, const char **kv, int pairs, void **backend);
int kvn_destroy_backend(void *backend);
int kvn_plugins(void *agent, char *out, size_t outlen);
int kvn_register(void *agent, uintptr_t addr, size_t len, uint64_t dev, int remove);
int kvn_local_md(void *agent, void **data, size_t *len);
int kvn_load_md(void *agent, const void *data, size_t len, char **name);
int kvn_check_md(void *agent, const char *name);
int kvn_invalidate_md(void *agent, const char *name);
int kvn_fetch_md(void *agent, const char *name, const char *ip, int port);

// kvn_write makes a request of one piece. The caller owns *req until kvn_free.
// stage says how far it got: 0 arguments, 1 create, 2 post.
int kvn_write(void *agent, int read, const char *peer, uintptr_t src, size_t len, uintptr_t dst, uint64_t dev,
              const void *note, size_t notelen, void **req, int *stage);
int kvn_status(void *agent, void *req);
int kvn_free(void *agent, void *req);
int kvn_notify(void *agent, const char *peer, const void *msg, size_t len);

// kvn_notices takes what arrived. *out, to be freed, holds *n records of two
// uint32 lengths, the name and the payload. *skipped counts what was left out: more
// than most of one sender, longer than longest, or without a readable name.
int kvn_notices(void *agent, void *map, size_t most, size_t longest, char **out, size_t *outlen, size_t *n,
                size_t *skipped);
// kvn_idle waits until fd can be read, a notice is in map, or about a fifth of a
// second has passed. It looks for notices after pauses of a 64th of the quiet time,
// at most idle_ns. It is here because a pause costs a tenth of one in Go.
void kvn_idle(void *agent, void *map, int fd, int64_t quiet_ns, int64_t idle_ns);

int kvn_create_map(void **map);
int kvn_destroy_map(void *map);

#endif
