package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// payload is what every job of every system carries: some sixty bytes of JSON.
const payload = `{"to":"ada@example.test","template":"welcome","n":1234567}`

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// lines writes a file of n lines for a bulk enqueue, with keys that are all different, or where
// copies is more than one each that often.
func (b *bench) lines(n, copies int) (string, error) {
	name := filepath.Join(b.dir, fmt.Sprintf("lines-%d-%d.ndjson", n, copies))
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		fmt.Fprintf(w, `{"key":"order-%08d","kind":"mail","payload":%s}`+"\n", i/copies, payload)
	}
	return name, errors.Join(w.Flush(), f.Close())
}

// answer is the command of a worker that does nothing: each line of input is done. tell, where not nil,
// gets the time at which it had the line, in nanoseconds of the epoch.
func answer(in io.Reader, out, tell io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<16)
	w := bufio.NewWriterSize(out, 1<<16)
	for {
		line, err := r.ReadSlice('\n') // payloads here are short
		if len(line) > 1 {
			if tell != nil {
				fmt.Fprintln(tell, time.Now().UnixNano())
			}
			receipt, ok := member(line, "receipt")
			if !ok {
				return fmt.Errorf("a line without a receipt: %.200q", line)
			}
			_, _ = w.WriteString(`{"receipt":"`) // a fault stays until Flush
			_, _ = w.Write(receipt)
			_, _ = w.WriteString("\"}\n")
		}
		if r.Buffered() == 0 || err != nil {
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// member cuts a string out of a line, which is quicker than to read all of it.
func member(line []byte, name string) ([]byte, bool) {
	_, after, ok := bytes.Cut(line, []byte(`"`+name+`":"`))
	if !ok {
		return nil, false
	}
	value, _, ok := bytes.Cut(after, []byte{'"'})
	return value, ok
}
