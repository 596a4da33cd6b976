package expr

// many reports whether n may have more than one result, as far as that shows.
func many(n node) bool {
	switch n := n.(type) {
	case *commaNode, *iterateNode, *recurseNode, *rangeNode, *splitsNode, *foreachNode:
		return true
	case *fieldsNode:
		return many(n.base)
	case *indexNode:
		return many(n.base) || many(n.key)
	case *sliceNode:
		return many(n.base) || many(n.start) || many(n.end)
	case *pipeNode:
		return many(n.left) || many(n.right)
	case *ifNode:
		return many(n.cond) || many(n.then) || many(n.otherwise)
	case *elseNode:
		return many(n.left) || many(n.right)
	case *tryNode:
		return many(n.body) || n.handler != nil && many(n.handler)
	case *bindNode:
		return many(n.source) || many(n.body)
	case *argumentNode:
		return many(n.body)
	case *valuesNode:
		return manyOf(n.args) || many(n.body)
	case *nativeNode:
		return manyOf(n.args)
	case *operatorNode:
		return many(n.left) || many(n.right)
	case *pathNode:
		return many(n.body)
	case *subNode:
		return many(n.replacement)
	case *labelNode:
		return many(n.body) && manyUntilBreak(n.body)
	case *objectNode:
		for _, item := range n.items {
			if item.key != nil && many(item.key) || item.value != nil && many(item.value) {
				return true
			}
		}
	case *textNode:
		for _, part := range n.parts {
			if part.body != nil && many(part.body) {
				return true
			}
		}
	}
	return false
}

func manyOf(nodes []node) bool {
	for _, n := range nodes {
		if many(n) {
			return true
		}
	}
	return false
}

// manyUntilBreak is many for label $out | body. It recognises body | ., break $out, which is
// how first is built, and the same followed by another result, which is how isempty is built.
func manyUntilBreak(body node) bool {
	rest := []node(nil)
	if comma, ok := body.(*commaNode); ok {
		body, rest = comma.parts[0], comma.parts[1:]
	}
	pipe, ok := body.(*pipeNode)
	if !ok {
		return true
	}
	result, ok := pipe.right.(*commaNode)
	if !ok || len(result.parts) != 2 || len(rest) > 1 {
		return true
	}
	_, ok = result.parts[1].(*breakNode)
	return !ok || many(result.parts[0]) || manyOf(rest)
}
