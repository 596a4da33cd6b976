// Package disk tells how much space is left on the disks of this machine, and keeps a reserve of it: while less is
// free, what would fill the disk is to be refused, so that what runs can continue.
package disk
