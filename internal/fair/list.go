package fair

// List is a doubly linked list. Its nodes are fields of what is listed, so nothing is allocated. It is not safe for
// concurrent use.
type List[V any] struct{ first, last *Node[V] }

// Node is the position of a value in a list, if it is in one.
type Node[V any] struct {
	Value        V
	list         *List[V]
	before, next *Node[V]
}

// First returns the first node, Next the one behind n. nil: there is none.
func (l *List[V]) First() *Node[V] { return l.first }
func (n *Node[V]) Next() *Node[V]  { return n.next }

// List returns the list that n is in; nil: none.
func (n *Node[V]) List() *List[V] { return n.list }

// Push adds n, which is in no list, behind all others.
func (l *List[V]) Push(n *Node[V]) {
	n.list, n.before, n.next = l, l.last, nil
	if l.last != nil {
		l.last.next = n
	} else {
		l.first = n
	}
	l.last = n
}

// Leave takes n out of its list, if it is in one.
func (n *Node[V]) Leave() {
	l := n.list
	if l == nil {
		return
	}
	if n.before != nil {
		n.before.next = n.next
	} else {
		l.first = n.next
	}
	if n.next != nil {
		n.next.before = n.before
	} else {
		l.last = n.before
	}
	n.list, n.before, n.next = nil, nil, nil
}

// Move puts n into a list, behind all others, or with nil into none. It leaves the list that it is in, unless that is
// the same.
func (n *Node[V]) Move(to *List[V]) {
	if n.list != to {
		n.move(to)
	}
}

func (n *Node[V]) move(to *List[V]) { // apart, so that Move is inlined: it mostly changes nothing
	n.Leave()
	if to != nil {
		to.Push(n)
	}
}
