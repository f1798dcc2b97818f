import { describe, expect, it } from "vitest";
import { BufferPool } from "./buffer-pool.js";

const BYTES = 1_024;
const KEEP_MAX = 8;

/** So many in use at once, all given back. */
function use(pool: BufferPool, count: number): ReadonlySet<Buffer> {
  const taken = Array.from({ length: count }, () => pool.take());
  for (const buffer of taken) pool.give(buffer);
  return new Set(taken);
}

describe("the pool of buffers", () => {
  it("gives out again what came back, and no buffer twice", () => {
    const pool = new BufferPool(BYTES, KEEP_MAX);
    const first = use(pool, 3);
    expect(first.size).toBe(3);
    expect([...use(pool, 3)].every((buffer) => first.has(buffer))).toBe(true);
    expect(pool.idleCount).toBe(3);
    use(pool, 20);
    expect(pool.idleCount).toBe(KEEP_MAX);
  });

  it("lets go what nobody needed for a while, and keeps what is needed", () => {
    const pool = new BufferPool(BYTES, KEEP_MAX);
    use(pool, KEEP_MAX);
    for (let batch = 0; batch < 2_000; batch++) use(pool, 2);
    expect(pool.idleCount).toBe(2);
    // A peak now and then is kept for, as long as it comes.
    for (let batch = 0; batch < 2_000; batch++) use(pool, batch % 50 === 0 ? 6 : 1);
    expect(pool.idleCount).toBe(6);
  });

  it("accepts a whole view of one of its buffers, and nothing else", () => {
    const pool = new BufferPool(BYTES, KEEP_MAX);
    const buffer = pool.take();
    pool.recycle(buffer.subarray(0, 100));
    expect(pool.idleCount).toBe(1);
    pool.recycle(pool.take().subarray(1, 100));
    pool.give(Buffer.alloc(BYTES / 2));
    expect(pool.idleCount).toBe(0);
  });
});
