// pg-boss fetches and completes 1,000 jobs at a time in four loops. It is measured after ANALYZE:
// without statistics its fetch takes another plan and is many times slower.
import { PgBoss } from "pg-boss";
import pg from "pg";
import { payload, tell, verb, count, connection } from "./common.mjs";

const loops = 4;
const size = 1000;
const boss = new PgBoss({ ...connection, max: loops + 1, supervise: false, schedule: false });
boss.on("error", console.error);
await boss.start();

switch (verb) {
  case "setup":
    await boss.createQueue("bench");
    tell({});
    break;
  case "fill": {
    await boss.deleteAllJobs("bench");
    for (let made = 0; made < count; made += size) {
      await boss.insert("bench", Array.from({ length: Math.min(size, count - made) }, () => ({ data: payload })));
    }
    const client = new pg.Client(connection);
    await client.connect();
    await client.query("VACUUM ANALYZE pgboss.job_common");
    await client.query("CHECKPOINT");
    await client.end();
    tell({});
    break;
  }
  case "drain": {
    const began = process.hrtime.bigint();
    let done = 0;
    await Promise.all(
      Array.from({ length: loops }, async () => {
        for (;;) {
          const jobs = await boss.fetch("bench", { batchSize: size });
          if (jobs.length === 0) return;
          await boss.complete("bench", jobs.map((j) => j.id));
          done += jobs.length;
        }
      }),
    );
    if (done !== count) throw new Error(`pg-boss completed ${done} jobs, not ${count}`);
    tell({ seconds: Number(process.hrtime.bigint() - began) / 1e9 });
    break;
  }
}
await boss.stop({ graceful: false });
