// What the scripts of the peers have in common: the verb, the database, the payload, the answer.
export const [verb, count] = [process.argv[2], Number(process.argv[3])];
export const connection = { host: process.env.BENCH_HOST, database: process.env.BENCH_DATABASE, user: "postgres", port: 5432 };
export const payload = { to: "ada@example.test", template: "welcome", n: 1234567 };
export const spacing = (i) => 5 + ((i * 7) % 13); // ms between two enqueues whose latency is measured
export const tell = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
