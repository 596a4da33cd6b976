package machine

// Digest is a number that tells one list of commands from another. It is the same in every
// process of this revision; a replay that gives another digest has gone astray. It guards
// against mistakes, not against anyone: lists with the same digest can be made.
func Digest(commands []Command) uint64 {
	h := hashSeed
	for i := range commands {
		c := &commands[i]
		h = hashWord(hashWord(h, uint64(c.Kind)), uint64(c.ID))
		switch c.Kind {
		case RunActivity, Publish:
			h = hashText(hashText(h, c.Activity), c.Reference)
			h = hashWord(hashWord(h, uint64(c.Iteration)), uint64(c.Attempt))
			h = hashText(hashValue(h, c.Args), c.Key)
			if c.Detached {
				h = hashWord(h, 1)
			}
			if c.Stream {
				h = hashWord(h, 2)
			}
		case StartTimer:
			h = hashWord(h, uint64(c.DueMs))
		case Subscribe:
			h = hashWord(h, uint64(c.SinceMs))
			for _, f := range c.Filters {
				h = hashText(hashText(hashText(h, f.Type), f.Path), string(f.Key[:]))
			}
		case StartChild:
			if c.Child.Await {
				h = hashWord(h, 1)
			}
			h = hashText(hashText(h, string(c.Child.ID[:])), c.Child.Namespace)
			h = hashValue(hashText(hashText(h, c.Child.Name), c.Child.Version), c.Child.Input)
		case OpenTask:
			h = hashWord(hashText(hashText(h, string(c.Task[:])), c.Reference), uint64(c.Iteration))
			h = hashValue(h, c.Args)
		case WithdrawTask:
			h = hashWord(h, uint64(c.Why))
		case Finish:
			h = hashValue(hashWord(h, uint64(c.Phase)), c.Output)
			h = hashFault(h, c.Fault)
			for _, f := range c.Files {
				h = hashText(h, f.ID)
			}
		}
	}
	return h
}

func hashFault(h uint64, f *Fault) uint64 {
	if f == nil {
		return hashWord(h, 0)
	}
	h = hashWord(hashText(h, f.Type), uint64(f.Status))
	return hashText(hashText(hashText(h, f.Title), f.Detail), f.Instance)
}
