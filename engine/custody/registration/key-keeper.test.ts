/** What no request waits for, over several wallets and venues. */
import { expect, it } from "vitest";
import { delay } from "../../domain/clock.js";
import { silentLogger } from "../../domain/logger.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { AgentRegistrar } from "../../key-registrar.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { plainSealer } from "../provider/test/plain-sealer.js";
import { seededRandom } from "../sealing/test/sealing-doubles.js";
import { KeyBook } from "./key-book.js";
import { KeyKeeper } from "./key-keeper.js";
import type { KeyParts } from "./key-parts.js";
import type { StoredKey } from "./key-row.js";
import { KeyTurns } from "./key-turns.js";
import { FakeVenue, signatureOf } from "./test/fake-venue.js";

const ACCOUNT = "0x00000000000000000000000000000000000000aa";
const walletId = (index: number) => `5f0c7c3e-6f6b-4f0e-9a53-${String(index).padStart(12, "0")}`;

const ENDING: StoredKey = {
  ...{ account: ACCOUNT, signer: `0x${"1".repeat(40)}`, name: "k-1", expiresAtMs: null, serial: 1, flow: "agent" },
  ...{ createdAtMs: 0, state: "REVOKING", isAnswered: true, requestId: "r", act: null, sealed: "" },
};

it("a venue that answers nothing keeps no key of another one alive", async () => {
  const clock = new VirtualClock();
  const book = new KeyBook(createMemoryStore());
  const agents = new FakeVenue(clock, "short").registrar((act) => act());
  const registrars = new Map<RoutableVenue, AgentRegistrar>([
    [
      "venueone",
      {
        ...agents,
        async send(_act, _signature, { timeoutMs }) {
          await delay(clock, timeoutMs);
          return { kind: "unknown" };
        },
      },
    ],
    ["venuetwo", { ...agents, send: async () => ({ kind: "done" }) }],
  ]);
  const sign = async (_id: string, _origin: string, { text = "" }: { text?: string }) => ({
    signature: signatureOf(ACCOUNT, text),
    digest: "",
  });
  const parts: KeyParts = {
    ...{ book, registrars, clock, random: seededRandom(1), logger: silentLogger },
    ...{ sealer: { ...plainSealer, kekId: "", rewrap: () => null }, provider: { sign } as KeyParts["provider"] },
  };
  for (let index = 0; index < 40; index++)
    await book.update({ walletId: walletId(index), venue: "venueone" }, () => [ENDING]);
  const other = { walletId: walletId(99), venue: "venuetwo" } as const;
  await book.update(other, () => [ENDING]);
  const keeper = new KeyKeeper(parts, new KeyTurns());
  keeper.start();
  await clock.advanceAsync(10_000);
  expect(book.keysOf(other)).toEqual([]);
  const stopped = keeper.stop();
  await clock.advanceAsync(200_000);
  await stopped;
});
