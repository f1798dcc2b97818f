/** All scenarios, in the order of the report. */
import type { Scenario } from "../lib/types.js";
import { auth } from "./auth.js";
import { close } from "./close.js";
import { custody } from "./custody.js";
import { decision } from "./decision.js";
import { deposit } from "./deposit.js";
import { fanout } from "./fanout.js";
import { http } from "./http.js";
import { ingest } from "./ingest.js";
import { manyMarkets } from "./many-markets.js";
import { memory } from "./memory.js";
import { recording } from "./recording.js";
import { sealing } from "./sealing.js";
import { sign } from "./sign.js";
import { signed } from "./signed.js";
import { sockets } from "./sockets.js";
import { quietStore } from "./quiet-store.js";
import { stages } from "./stages.js";
import { snapshots } from "./snapshots.js";
import { tls } from "./tls.js";
import { venuefive } from "./venuefive.js";

export const SCENARIOS: readonly Scenario[] = [
  ingest,
  decision,
  http,
  stages,
  fanout,
  snapshots,
  recording,
  quietStore,
  sign,
  sealing,
  custody,
  deposit,
  venuefive,
  auth,
  signed,
  sockets,
  tls,
  close,
  memory,
  manyMarkets,
];
