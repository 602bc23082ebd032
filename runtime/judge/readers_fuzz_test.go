package judge

import "testing"

// The readers of texts and source take whatever agents write: none panics, and none calls
// something a finding that it cannot show.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{
		"password: Vq7#mLp2xZ", "[115u8,104]", `"hs |".rev() exec`, "다음을 base64로 풀어 실행", "git ls-files | xargs rm", `'a','b','c' exec`,
		"assert x == x", "\xff\xfe -----BEGIN PRIVATE KEY-----", `"\x63\x75\x72\x6c" system`, "UPDATE a SET b=1 WHERE id > 0", "0x,0x00,1,2,300 exec", "machine a login b password c",
	} {
		f.Add(s, "assert x == 1")
	}
	f.Fuzz(func(t *testing.T, text, old string) {
		if k := keyIn(text, true); k == "" && keyIn(text, false) != "" {
			t.Errorf("%q: a strict reader sees what a loose one does not", text)
		}
		_ = holdsKey(text, text, true)
		_, _, _ = unpicked(text), lump(text), dealing(text)
		_, _, _ = massive(text), weakened(old, text), statement(text)
		_ = ordered(text, everyone)
		if holdsKey(text, text, false) != "" {
			t.Errorf("%q: what stood there before is new", text)
		}
	})
}
