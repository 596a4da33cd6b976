// Package postgrestest keeps the schemas that tests on PostgreSQL have used, because making one takes longer than
// most of these tests.
package postgrestest
