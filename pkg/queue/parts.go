package queue

import "slices"

// whole is how many named todos are changed in one transaction; beyond that a verb works in parts.
const whole = 1000

// parts cuts a list into pieces that are one transaction each.
func parts[T any](list []T) [][]T { return slices.Collect(slices.Chunk(list, whole)) }
