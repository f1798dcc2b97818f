/** The service against the configured venues. */
import { loadConfigOrExit, runService } from "./app/run.js";

await runService(loadConfigOrExit(process.env));
