/** The service against the configured venues. */
import { loadConfigOrExit, runService } from "./run.js";

await runService(loadConfigOrExit(process.env));
