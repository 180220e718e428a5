package nixl

// ServiceVariable makes the test program a service that obeys commands; ServiceMain
// is set by the tests outside this package, which may import services.
const ServiceVariable = "KVSETTLE_NIXL_SERVICE"

// ServiceMain runs that service.
var ServiceMain func() int

// NotRun is notRun.
var NotRun = notRun

// NeedLibrary is needLibrary.
var NeedLibrary = needLibrary
