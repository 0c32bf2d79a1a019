package todo

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a timestamp of the server that may be null or infinite, as PostgreSQL's may. The zero
// value is null. It prints as RFC 3339 in UTC, or as the words infinity and -infinity.
type Time struct {
	at  time.Time
	inf int8 // +1 and -1 for the infinities, else 0
}

// At returns t as a Time.
func At(t time.Time) Time { return Time{at: t.UTC()} }

// IsNull says whether there is no time at all.
func (t Time) IsNull() bool { return t.inf == 0 && t.at.IsZero() }

// Time returns the moment, and false where it is null or infinite.
func (t Time) Time() (time.Time, bool) { return t.at, t.inf == 0 && !t.at.IsZero() }

// After says whether t is later than now; a null time is not.
func (t Time) After(now time.Time) bool { return t.inf > 0 || t.inf == 0 && t.at.After(now) }

// Before says whether t is earlier than now; a null time is not.
func (t Time) Before(now time.Time) bool {
	return t.inf < 0 || t.inf == 0 && !t.at.IsZero() && t.at.Before(now)
}

// String returns the printed form, empty for null.
func (t Time) String() string {
	switch {
	case t.inf > 0:
		return "infinity"
	case t.inf < 0:
		return "-infinity"
	case t.at.IsZero():
		return ""
	}
	return string(t.digits(nil))
}

// digits appends a time that is one, to the microsecond: PostgreSQL keeps no more. RFC 3339 is the one layout that the
// library prints without reading it first.
func (t Time) digits(b []byte) []byte {
	return t.at.Truncate(time.Microsecond).AppendFormat(b, time.RFC3339Nano)
}

// appendJSON appends what MarshalJSON prints.
func (t Time) appendJSON(b []byte) []byte {
	switch {
	case t.IsNull():
		return append(b, "null"...)
	case t.inf != 0:
		return append(append(append(b, '"'), t.String()...), '"')
	}
	return append(t.digits(append(b, '"')), '"')
}

// MarshalJSON prints null for null, else the string form.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.appendJSON(nil), nil
}

// UnmarshalJSON reads what MarshalJSON prints, with any offset from UTC.
func (t *Time) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s is not a time", raw)
	}
	if text == nil {
		*t = Time{}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		if t.Scan(*text) == nil { // infinity and -infinity
			return nil
		}
		return fmt.Errorf("%q is not a time in RFC 3339 with an offset", *text)
	}
	*t = At(at)
	return nil
}

// Scan reads what a driver hands over: a time.Time, one of PostgreSQL's two words, or nil.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case time.Time:
		*t = At(v)
	case string:
		switch v {
		case "infinity":
			*t = Time{inf: 1}
		case "-infinity":
			*t = Time{inf: -1}
		default:
			return fmt.Errorf("read time: %q", v)
		}
	default:
		return fmt.Errorf("read time: %T", src)
	}
	return nil
}
