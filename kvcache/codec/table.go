package codec

import (
	"encoding/binary"
	"fmt"
)

// appendTable codes the cells: each field as the difference to the cell before,
// each byte of it by itself. Positions that follow one another cost nothing.
func (e *entropy) appendTable(dst, records []byte, t table) []byte {
	column := make([]byte, t.cells)
	for field := 0; field < t.record; field += 4 {
		for shift := 0; shift < 32; shift += 8 {
			last := uint32(0)
			for i := range column {
				v := binary.LittleEndian.Uint32(records[i*t.record+field:])
				column[i] = byte((v - last) >> shift)
				last = v
			}
			dst = e.append(dst, column)
		}
	}
	return dst
}

// readTable is its inverse.
func (e *entropy) readTable(dst, coded []byte, t table) (rest []byte, err error) {
	column := make([]byte, t.cells)
	clear(dst)
	for field := 0; field < t.record; field += 4 {
		for shift := 0; shift < 32; shift += 8 {
			if coded, err = e.read(column, coded); err != nil {
				return nil, fmt.Errorf("cells: %w", err)
			}
			for i, b := range column {
				dst[i*t.record+field+shift/8] = b
			}
		}
		last := uint32(0)
		for i := range t.cells {
			b := dst[i*t.record+field:]
			last += binary.LittleEndian.Uint32(b)
			binary.LittleEndian.PutUint32(b, last)
		}
	}
	return coded, nil
}
