package library

import "dure/inference/fetch"

// The engine is llama.cpp 0.5.0 driven through github.com/hybridgroup/yzma
// v1.28.0 (go.mod). The two belong together: other pairs have other struct
// layouts. All pins below are of that llama.cpp; change them together or not at
// all.
const (
	// LlamaVersion is what llama_version() of every set must say, with or
	// without "-dev" behind it.
	LlamaVersion = "0.5.0"
	// npmVersion is the release of the npm packages that carries LlamaVersion.
	npmVersion = "3.22.1"
)

func npm(name, file, integrity string, bytes int64) fetch.Artifact {
	return fetch.Artifact{Client: fetch.NPM, Package: name, Version: npmVersion, File: file,
		Bytes: bytes, Hash: fetch.MustParseHash(integrity)}
}

func wheel(name, version, file, sha256 string, bytes int64) fetch.Artifact {
	return fetch.Artifact{Client: fetch.PIP, Package: name, Version: version, File: file,
		Bytes: bytes, Hash: fetch.MustParseHash("sha256:" + sha256)}
}

// Prebuilt libraries.
var (
	cpuAMD64 = npm("@node-llama-cpp/linux-x64", "node-llama-cpp-linux-x64-3.22.1.tgz",
		"sha512-5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg==", 10_824_547)
	cpuARM64 = npm("@node-llama-cpp/linux-arm64", "node-llama-cpp-linux-arm64-3.22.1.tgz",
		"sha512-W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ==", 7_340_902)
	vulkanAMD64 = npm("@node-llama-cpp/linux-x64-vulkan", "node-llama-cpp-linux-x64-vulkan-3.22.1.tgz",
		"sha512-bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==", 24_311_427)
	// cudaAMD64 holds machine code for compute capabilities 8.6, 8.9, 12.0 and
	// 12.1 and was built with CUDA 13.1.
	cudaAMD64 = npm("@node-llama-cpp/linux-x64-cuda", "node-llama-cpp-linux-x64-cuda-3.22.1.tgz",
		"sha512-8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==", 142_898_030)
	// cudaExtAMD64 holds one file, a libggml-cuda.so to put in the place of the
	// one above, for capabilities 5.0 to 8.0, and intermediate code of 8.6 that
	// the driver compiles for what is newer. It was built with CUDA 12.
	cudaExtAMD64 = npm("@node-llama-cpp/linux-x64-cuda-ext", "node-llama-cpp-linux-x64-cuda-ext-3.22.1.tgz",
		"sha512-4e5ajkiM2aR2WAdB/N/ACk4weEhHvOAIrzxZPsIX0xDFW5+6hhShuy1/vs88SK9NGdgAco9IyE28eYS0H1efpA==", 176_664_119)
)

// sourceArchive carries the whole source of llama.cpp as a git bundle.
var sourceArchive = npm("node-llama-cpp", "node-llama-cpp-3.22.1.tgz",
	"sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==", 35_735_663)

// sourceBundle is the bundle's name in sourceArchive, and its size.
const (
	sourceBundle      = "package/llama/gitRelease.bundle"
	sourceBundleBytes = 35_273_016
)

// The parts of CUDA that the driver does not bring. The CUDA 13 runtime is the
// release the libraries were built with, cuBLAS the one of the same toolkit.
var (
	cudart13 = wheel("nvidia-cuda-runtime", "13.1.80", "nvidia_cuda_runtime-13.1.80-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		"dac25b52e69050e5a7a84957e6df470a85b185f8f648a99a1ab1dfce027576cf", 2_297_816)
	cublas13 = wheel("nvidia-cublas", "13.2.1.1", "nvidia_cublas-13.2.1.1-py3-none-manylinux_2_27_x86_64.whl",
		"8c13c93cf8be4480b4909905c96d2d31575b4af43fcd3af0e84af94762665e4f", 401_085_577)
	cudart12 = wheel("nvidia-cuda-runtime-cu12", "12.9.79", "nvidia_cuda_runtime_cu12-12.9.79-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
		"25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3", 3_493_179)
	cublas12 = wheel("nvidia-cublas-cu12", "12.9.1.4", "nvidia_cublas_cu12-12.9.1.4-py3-none-manylinux_2_27_x86_64.whl",
		"453611eb21a7c1f2c2156ed9f3a45b691deda0440ec550860290dc901af5b4c2", 581_242_350)
)
