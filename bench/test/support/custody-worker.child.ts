/** The thread of the service's sessions as the memory test runs it: it writes its draws down and collects when told. */
import { BroadcastChannel, getEnvironmentData } from "node:worker_threads";
import { collector, writeDraws } from "./watched-party.js";

writeDraws(getEnvironmentData("custody-draws") as string);
const collect = collector();
const channel = new BroadcastChannel("custody-memory");
channel.onmessage = () => {
  collect();
  channel.postMessage("collected");
};
channel.unref();
await import("../../../gateway/children/custody.worker.js");
