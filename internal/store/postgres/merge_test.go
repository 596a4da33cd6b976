package postgres

import (
	"fmt"
	"testing"
)

func TestManyText(t *testing.T) {
	for text, want := range map[string]string{
		"INSERT INTO input (execution, data)\n VALUES ($1, $2)":                               "INSERT INTO input (execution, data)\n SELECT v.c1, v.c2 FROM unnest($1, $2) AS v (c1, c2)",
		"INSERT INTO execution (no, id, x9) VALUES ($3, $1, 0, $2)":                           "INSERT INTO execution (no, id, x9) SELECT v.c3, v.c1, 0, v.c2 FROM unnest($1, $2, $3) AS v (c1, c2, c3)",
		"UPDATE execution SET a = $2, b = b + $3 WHERE no = $1 AND c = 1":                     "UPDATE execution SET a = v.c2, b = b + v.c3 FROM unnest($1, $2, $3) AS v (c1, c2, c3) WHERE no = v.c1 AND c = 1",
		"INSERT INTO a (b, c) VALUES ($1, $2)\n ON CONFLICT (b) DO UPDATE SET c = excluded.c": "INSERT INTO a (b, c) SELECT v.c1, v.c2 FROM unnest($1, $2) AS v (c1, c2)\n ON CONFLICT (b) DO UPDATE SET c = excluded.c",
		// Those that answer, may do nothing, or read, are not merged.
		"INSERT INTO input (execution) VALUES ($1) RETURNING no":                           "",
		"INSERT INTO input (execution) VALUES ($1) ON CONFLICT (execution) DO NOTHING":     "",
		"INSERT INTO a (b, c) VALUES ($1, $2) ON CONFLICT (b) DO UPDATE SET c = $2":        "",
		"INSERT INTO a (b, c) VALUES ($1, $2) ON CONFLICT (b) DO UPDATE SET c = a.c + (1)": "",
		"INSERT INTO input (execution) VALUES ((SELECT no FROM execution WHERE id = $1))":  "",
		"INSERT INTO input (execution) SELECT $1":                                          "",
		"INSERT INTO input (execution) VALUES ('$1')":                                      "",
		"INSERT INTO input (execution) VALUES (1)":                                         "",
		"UPDATE execution SET a = COALESCE($2, a) WHERE no = $1":                           "",
		"DELETE FROM timer WHERE execution = $1":                                           "",
	} {
		if got := manyText(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestArray(t *testing.T) {
	entries := []*entry{{values: [][]byte{{1, 2}}}, {values: [][]byte{nil}}, {values: [][]byte{{}}}}
	const want = "00000001" + "00000001" + "00000011" + "00000003" + "00000001" + "00000002" + "0102" + "ffffffff" + "00000000"
	if got := fmt.Sprintf("%x", array(typeBytes, entries, 0)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
