import { expect, it } from "vitest";
import { seededBytes } from "../test/seeded-random.js";
import { commit, opens } from "./commitment.js";

const scope = { walletId: Buffer.alloc(16, 1), epoch: 1, sid: Buffer.alloc(32, 2) };
const fields = [seededBytes("com", "salt", 32), seededBytes("com", "R", 33)];
const commitment = commit(scope, "sign/com", 0, fields);

it("a commitment is opened by its own fields, step, committer and session alone", () => {
  expect(opens(commitment, scope, "sign/com", 0, fields)).toBe(true);
  expect(opens(commitment, scope, "sign/com", 1, fields)).toBe(false);
  expect(opens(commitment, scope, "kg/com", 0, fields)).toBe(false);
  expect(opens(commitment, { ...scope, sid: Buffer.alloc(32) }, "sign/com", 0, fields)).toBe(false);
  expect(opens(commitment, { ...scope, epoch: 2 }, "sign/com", 0, fields)).toBe(false);
  expect(opens(commitment, scope, "sign/com", 0, [...fields].reverse())).toBe(false);
  expect(opens(commitment, scope, "sign/com", 0, [Buffer.concat(fields)])).toBe(false);
  expect(opens(commitment.subarray(1), scope, "sign/com", 0, fields)).toBe(false);
});
