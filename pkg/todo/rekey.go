package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Rekey returns another id for a copy of a todo, always the same one for the same id and mark, so that a
// copy that is made twice is made once. It keeps the time in a UUIDv7: copies sort as the originals do.
func Rekey(id, mark string) string {
	sum := sha256.Sum256([]byte(mark + "\x00" + id))
	u := sum[:16]
	old, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(id, "td_"), "-", ""))
	version := byte(0x80) // of a kind of our own
	if err == nil && len(old) == 16 && old[6]>>4 == 7 {
		copy(u, old[:6])
		version = 0x70
	}
	u[6], u[8] = u[6]&0x0F|version, u[8]&0x3F|0x80
	h := hex.EncodeToString(u)
	return "td_" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
