// Package password hashes passwords with argon2id and checks them.
//
// Invariants:
//   - At most two passwords are hashed at once, and at most 64 callers wait for that. Further callers get ErrBusy at
//     once. So sign-ins never need more memory than two hashes.
//   - A check takes the same path whether there is a hash or not: without one, the password is hashed all the same
//     and does not match.
//   - Hashes are stored in the PHC string format, with their parameters, so that these can grow.
package password
