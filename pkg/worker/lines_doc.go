package worker

// Said is a line that a command can say of its todo, and what it does.
type Said struct{ Line, Meaning string }

// Answers are the lines for descriptor 3. One line may have several of these members.
func Answers() []Said {
	return []Said{
		{`{"result":…}`, "any JSON: kept with the todo; the last one counts"},
		{`{"progress":40}`, "percent: shows in list and show while the command runs"},
		{`{"extend":"2m"}`, "needs that much longer: the lease lasts so long at least, and --run-timeout waits"},
		{`{"retry_in":"5m"}`, "if it fails or is given back: comes back after this, not after the usual time"},
		{`{"error":"…"}`, "if it fails: the error text, in place of the end of stderr"},
	}
}

// Outcomes are the lines with which a command that has several todos ends one of them. The members of
// Answers can stand beside these.
func Outcomes() []Said {
	return []Said{
		{`{"id":"td_…"}`, "done"},
		{`{"receipt":"td_…@1"}`, "done, by the receipt"},
		{`{"id":"td_…","error":"…"}`, "failed"},
		{`{"id":"td_…","outcome":"dead"}`, "one of done, fail, dead, release, crash"},
	}
}
