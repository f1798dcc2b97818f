/**
 * The local venues as a process of their own. Prints one line of JSON with their addresses; ends on SIGTERM, or when
 * the parent that holds its IPC channel is gone. Settings by environment: SIM_SEED, SIM_VENUEONE_PORT,
 * SIM_VENUETWO_PORT, SIM_VENUETHREE_PORT, SIM_VENUEFOUR_PORT, SIM_BTC_SIZE, SIM_UNLIMITED.
 */
import { startLocalVenues } from "./venues.js";

const venues = await startLocalVenues({
  seed: Number(process.env.SIM_SEED ?? 1),
  venueonePort: Number(process.env.SIM_VENUEONE_PORT ?? 0),
  venuetwoPort: Number(process.env.SIM_VENUETWO_PORT ?? 0),
  venuethreePort: Number(process.env.SIM_VENUETHREE_PORT ?? 0),
  venuefourPort: Number(process.env.SIM_VENUEFOUR_PORT ?? 0),
  btcSize: process.env.SIM_BTC_SIZE ?? "2",
  unlimited: process.env.SIM_UNLIMITED === "1",
});
const { venueone, venuetwo, venuethree, venuefour } = venues;
process.stdout.write(
  `${JSON.stringify({
    venueone: { restUrl: venueone.restUrl, wsUrl: venueone.wsUrl },
    venuetwo: { restUrl: venuetwo.restUrl, wsUrl: venuetwo.wsUrl },
    venuethree: { restUrl: venuethree.restUrl, wsUrl: venuethree.wsUrl },
    venuefour: { restUrl: venuefour.restUrl, wsUrl: venuefour.wsUrl },
  })}\n`,
);

function stop(): void {
  void venues.stop().finally(() => process.exit(0));
}
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
if (process.channel !== undefined) process.on("disconnect", stop);
