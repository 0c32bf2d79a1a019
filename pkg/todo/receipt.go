package todo

import (
	"math"
	"strconv"
	"strings"
)

// Receipt names a todo, and where Seq is not zero one lease of it. It is written td_<uuid>@<lease_seq>.
type Receipt struct {
	ID  string
	Seq int // lease_seq that fences the lease; 0 for a bare id
}

// String returns the written form, without @ for a bare id.
func (r Receipt) String() string {
	if r.Seq == 0 {
		return r.ID
	}
	return r.ID + "@" + strconv.Itoa(r.Seq)
}

// ParseReceipt reads an id or a receipt. Spaces around it are dropped. What cannot name a todo is a
// usage error; what merely names none is found out by the database.
func ParseReceipt(s string) (Receipt, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return Receipt{}, Errorf(CodeUsage, "empty todo id").
			WithHint("an id looks like td_0190c6a4-…, a receipt like td_0190c6a4-…@1")
	}
	if len(s) > 255 || !validText(s) {
		return Receipt{}, Errorf(CodeUsage, "todo id %q is not one", clip(s))
	}
	id, seq, fenced := strings.Cut(s, "@")
	if !fenced {
		return Receipt{ID: id}, nil
	}
	n, err := strconv.Atoi(seq)
	if err != nil || n < 1 || n > math.MaxInt32 || id == "" {
		return Receipt{}, Errorf(CodeUsage, "receipt %q: what follows @ is not a lease number", clip(s)).
			WithHint("use the receipt as claim printed it, or the bare id")
	}
	return Receipt{ID: id, Seq: n}, nil
}
