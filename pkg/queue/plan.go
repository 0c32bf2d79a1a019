package queue

// Statistics are those of the last ANALYZE, and a queue fills, drains and is leased in seconds: a
// plan must not depend on them. So each statement's transaction takes from the planner what it could
// be led astray to. Compiling expressions (jit) costs more than any of these statements.

// without returns the planner's methods that the plan of a statement must do without.
func without(name string) []string {
	switch name {
	case "reap_list", "tail", "leased", "claim", "claim_many", "claim_heads", "claim_id", "claim_capped", "claim_reason":
		return []string{"enable_seqscan", "enable_bitmapscan"} // read in order, and only as far as needed
	case "why", "why_owner", "why_queue", "crashes_owners", "crashes_todos", "queues_window", "queues", "queues_live", "queues_done", "owners", "list_ended", "list_many", "list_keys", "list_failures", "list_place", "leases_advise":
		return []string{"enable_seqscan", "enable_bitmapscan"}
	case "list_line", "list_line_ended": // the index gives the times in order, and only those that are equal are sorted further
		return []string{"enable_seqscan", "enable_bitmapscan", "enable_sort"}
	case "list", "export", "prune_list":
		// A page in id order: it is read before workers to share it would have started.
		return []string{"enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_gathermerge"}
	case "list_few", "pause_running", "enqueue_live", "enqueue_many":
		return []string{"enable_seqscan"} // terminal rows are in none of the indexes
	case "complete", "complete_each", "fail", "release", "heartbeat", "renew", "progress":
		// Both sides in id order. A nested loop would walk the whole key for each id where statistics promise hardly a row, as
		// those do that were taken while a bulk enqueue was not committed.
		return []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_nestloop"}
	case "reap", "classify", "plan_part", "plan_past", "retry_outcomes", "undo_list", "show", "tail_attempts", "prune":
		return byID()
	}
	return nil
}

// hot says that workers and producers run a statement so often that it pays to prepare it, and that it has one
// plan whatever its parameters are.
func hot(name string) bool {
	switch name {
	case "limits", "enqueue", "enqueue_live", "notify", "claim", "claim_many", "claim_heads", "claim_id", "claim_reason", "classify",
		"complete", "complete_each", "fail", "release", "heartbeat", "renew", "progress":
		return true
	}
	return false
}

// byID is for statements that visit named todos: with a scan of the whole table instead, twice the
// todos would be four times the work, and so they would be with a join by anything but the index.
func byID() []string {
	return []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"}
}
