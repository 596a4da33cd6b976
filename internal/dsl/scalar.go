package dsl

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// resolvePlain gives the JSON value of an unquoted YAML scalar by the core schema of YAML 1.2
// (T17): null, true, false and numbers in their usual spellings; everything else is text.
// It reports false for numbers that JSON values cannot hold.
func resolvePlain(text string) (shape, any, bool) {
	if text == "" {
		return shapeNull, nil, true
	}
	switch text[0] {
	case '~', 'n', 'N':
		switch text {
		case "~", "null", "Null", "NULL":
			return shapeNull, nil, true
		}
	case 't', 'T':
		switch text {
		case "true", "True", "TRUE":
			return shapeBoolean, true, true
		}
	case 'f', 'F':
		switch text {
		case "false", "False", "FALSE":
			return shapeBoolean, false, true
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '-', '.':
		return resolveNumber(text)
	}
	return shapeText, text, true
}

func resolveNumber(text string) (shape, any, bool) {
	switch {
	case strings.HasPrefix(text, "0x"):
		return resolveBase(text, 16)
	case strings.HasPrefix(text, "0o"):
		return resolveBase(text, 8)
	}
	unsigned := text
	if text[0] == '+' || text[0] == '-' {
		unsigned = text[1:]
	}
	switch unsigned {
	case ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN":
		return shapeNumber, nil, false
	}
	whole := digits(unsigned)
	rest := unsigned[whole:]
	if rest == "" && whole > 0 {
		value := parseInteger(text)
		return shapeNumber, value, value != nil
	}
	fraction := 0
	if strings.HasPrefix(rest, ".") {
		fraction = digits(rest[1:])
		rest = rest[1+fraction:]
	}
	if whole+fraction == 0 || !isExponent(rest) {
		return shapeText, text, true
	}
	value, err := strconv.ParseFloat(text, 64)
	return shapeNumber, value, err == nil && !math.IsInf(value, 0)
}

// isExponent reports whether text is empty or the exponent of a number.
func isExponent(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return false
	}
	text = text[1:]
	if text != "" && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return text != "" && digits(text) == len(text)
}

func resolveBase(text string, base int) (shape, any, bool) {
	number := text[2:]
	small, err := strconv.ParseInt(number, base, strconv.IntSize)
	switch {
	case err == nil && number[0] != '+' && number[0] != '-':
		return shapeNumber, int(small), true
	case len(number) > maxIntegerDigits || strings.ContainsAny(number, "+-_"):
		return shapeText, text, true
	}
	large, ok := new(big.Int).SetString(number, base)
	if !ok {
		return shapeText, text, true
	}
	return shapeNumber, large, large.BitLen() <= 4096
}

// digits counts the decimal digits that text begins with.
func digits(text string) int {
	count := 0
	for count < len(text) && text[count] >= '0' && text[count] <= '9' {
		count++
	}
	return count
}
