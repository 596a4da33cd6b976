package service

import "context"

// maxStrangers is how many keys and sessions that the caches do not know are looked for at once.
const maxStrangers = 4

// admitStranger waits until a credential may be looked for that no cache knows. Strangers can send as many as they
// like, and must not take all connections of the store; a client that was here a moment ago does not wait among them.
// The caller calls leave afterwards.
func (s *Service) admitStranger(ctx context.Context) (leave func(), err error) {
	select {
	case s.strangers <- struct{}{}:
		return func() { <-s.strangers }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
