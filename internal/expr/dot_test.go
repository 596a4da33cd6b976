package expr

import "testing"

func TestUsesInput(t *testing.T) {
	for source, want := range map[string][2]bool{ // uses its input, is a path into it
		".":                           {true, true},
		".data.id":                    {true, true},
		`.data["a b"][0]`:             {true, true},
		".data[.i]":                   {true, false},
		".data | length":              {true, false},
		".a // .b":                    {true, false},
		"$context":                    {false, false},
		"$context.type":               {false, false},
		"$context | .type":            {false, false},
		"$context[.x]":                {true, false},
		"$context[$input.x]":          {false, false},
		"$context[1:.n]":              {true, false},
		`"org." + $input.kind`:        {false, false},
		`"org.\($input.kind)"`:        {false, false},
		`"org.\(.kind)"`:              {true, false},
		`@base64 "x"`:                 {true, false},
		"{a: $input.x, $input}":       {false, false},
		"{a}":                         {true, false},
		"{(.a): 1}":                   {true, false},
		`{"\(.a)": 1}`:                {true, false},
		"[1, null, true, (false)]":    {false, false},
		"[.[]]":                       {true, false},
		"[$input[]]":                  {false, false},
		"$input.x?":                   {false, false},
		"now":                         {true, false},
		"def f: 1; f":                 {true, false},
		"$input as $x | 1":            {true, false},
		"if $input then 1 else 2 end": {true, false},
		"-1":                          {true, false},
		"[]":                          {false, false},
	} {
		e, err := Compile(source, nil)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if got := [2]bool{e.UsesInput(), e.IsPath()}; got != want {
			t.Errorf("%s: uses its input, is a path: %v, want %v", source, got, want)
		}
	}
}
