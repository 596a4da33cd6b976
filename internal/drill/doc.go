// Package drill holds an installation of several nodes to what it promises when its parts
// fail: what was accepted ends once and rightly, bounds are kept at every moment, and nothing is
// done twice but what was in flight when its worker was killed.
package drill
