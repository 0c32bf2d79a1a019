// A command for todoctl work --stream: a todo comes as a line, and a line answers it.
import { createInterface } from 'node:readline';

const handle = (payload) => ({ length: payload.text.length });

for await (const line of createInterface({ input: process.stdin })) {
  const todo = JSON.parse(line);
  const answer = { receipt: todo.receipt };
  try {
    answer.result = handle(todo.payload);
  } catch (e) {
    answer.error = String(e);
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
