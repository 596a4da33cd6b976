package testrun

// ExampleOf is exampleOf for tests.
var ExampleOf = exampleOf
