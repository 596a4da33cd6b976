package expr

import (
	"strconv"
	"sync"

	"github.com/itchyny/gojq"
)

// prelude defines the built-in functions that are short in the language itself. A definition
// is compiled into the place of each call, so it must not call itself; inner functions may.
// Names with an underscore are natives or nodes of ours. Where gojq's behaviour is peculiar
// (repeat, for example), it is kept.
const prelude = `
def map(f): [.[] | f];
def add(f): [f] | add;
def map_values(f): .[] |= f;
def in(xs): . as $x | xs | has($x);
def abs: if . < 0 then -. else . end;
def select(f): if f then . else empty end;

def recurse(f): def r: ., (f | r); r;
def recurse(f; cond): def r: ., (f | select(cond) | r); r;
def while(cond; update): def w: if cond then ., (update | w) else empty end; w;
def until(cond; next): def u: if cond then . else next | u end; u;
def repeat(f): def r: f, r; r;

def from_entries: map({(.key // .Key // .name // .Name): (if has("value") then .value else .Value end)}) | add // {};
def with_entries(f): to_entries | map(f) | from_entries;

def range($end): _range(0; $end; 1);
def range($start; $end): _range($start; $end; 1);
def range($start; $end; $step): _range($start; $end; $step);

def min_by(f): _min_by(map([f]));
def max_by(f): _max_by(map([f]));
def sort_by(f): _sort_by(map([f]));
def group_by(f): _group_by(map([f]));
def unique_by(f): _unique_by(map([f]));

def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def finites: select(isfinite);
def normals: select(isnormal);
def strings: select(type == "string");
def nulls: select(. == null);
def values: select(. != null);
def scalars: select(type | . != "array" and . != "object");

def combinations: def c: if length == 0 then [] else .[0][] as $x | (.[1:] | c) as $rest | [$x] + $rest end; c;
def combinations(n): [limit(n; repeat(.))] | combinations;
def walk(f): def w: if type == "array" then map(w) elif type == "object" then map_values(w) end | f; w;

def first: .[0];
def first(g): label $out | g | ., break $out;
def last: .[-1];
def last(g): _last(g);
def isempty(g): label $out | (g | false, break $out), true;
def all: isempty(.[] | select(. | not));
def all(y): isempty(.[] | select(y | not));
def all(g; y): isempty(g | select(y | not));
def any: isempty(.[] | select(.)) | not;
def any(y): isempty(.[] | select(y)) | not;
def any(g; y): isempty(g | select(y)) | not;

def limit($n; g):
  if $n > 0 then label $out | foreach g as $item ($n; . - 1; $item, if . <= 0 then break $out else empty end)
  elif $n == 0 then empty
  else error("limit doesn't support negative count") end;
def skip($n; g):
  if $n > 0 then foreach g as $item ($n; . - 1; if . < 0 then $item else empty end)
  elif $n == 0 then g
  else error("skip doesn't support negative count") end;
def nth($n): .[$n];
def nth($n; g): if $n >= 0 then first(skip($n; g)) else error("nth doesn't support negative index") end;

def truncate_stream(f): . as $n | null | f | if .[0] | length > $n then .[0] |= .[$n:] else empty end;
def fromstream(f):
  foreach f as $pv (null;
    if .e then null end | $pv as [$p, $v] |
    if $pv | length == 2 then setpath(["v"] + $p; $v) | setpath(["e"]; $p | length == 0)
    else setpath(["e"]; $p | length == 1) end;
    if .e then .v else empty end);
def tostream:
  path(def r: (.[]? | r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);

def del(f): delpaths([path(f)]);
def paths: path(..) | select(. != []);
def paths(f): path(.. | select(f)) | select(. != []);
def pick(f): . as $v | reduce path(f) as $p (null; setpath($p; $v | getpath($p)));

def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%S%z") | mktime;
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: fromdateiso8601;
def todate: todateiso8601;

def match($re): if $re | type == "array" then match($re[0]; $re[1]) else match($re; null) end;
def match($re; $flags): _match($re; $flags; false)[];
def test($re): if $re | type == "array" then _match($re[0]; $re[1]; true) else _match($re; null; true) end;
def test($re; $flags): _match($re; $flags; true);
def capture($re): match($re) | .captures | _captures;
def capture($re; $flags): match($re; $flags) | .captures | _captures;
def scan($re): scan($re; null);
def scan($re; $flags): match($re; $flags + "g") | if .captures == [] then .string else [.captures[].string] end;
def split($re; $flags): [splits($re; $flags)];
def splits($re): splits($re; null);
def splits($re; $flags): _splits($re; $flags + "g");
def sub($re; str): _sub($re; str; null);
def sub($re; str; $flags): _sub($re; str; $flags);
def gsub($re; str): _sub($re; str; "g");
def gsub($re; str; $flags): _sub($re; str; $flags + "g");

def INDEX(stream; idx_expr): [stream as $row | $row | idx_expr | {(tostring): $row}] | add // {};
def INDEX(idx_expr): INDEX(.[]; idx_expr);
def JOIN($idx; idx_expr): [.[] | [., $idx[idx_expr]]];
def JOIN($idx; stream; idx_expr): stream | [., $idx[idx_expr]];
def JOIN($idx; stream; idx_expr; join_expr): stream | [., $idx[idx_expr]] | join_expr;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
`

// definitions are the functions of the prelude by name and number of arguments.
var definitions = sync.OnceValue(func() map[string]*gojq.FuncDef {
	query, err := gojq.Parse(prelude)
	if err != nil {
		panic("expr: prelude: " + err.Error())
	}
	defs := make(map[string]*gojq.FuncDef, len(query.FuncDefs))
	for _, def := range query.FuncDefs {
		defs[signature(def.Name, len(def.Args))] = def
	}
	return defs
})

func signature(name string, arity int) string { return name + "/" + strconv.Itoa(arity) }
