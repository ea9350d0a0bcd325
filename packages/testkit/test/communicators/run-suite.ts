/**
 * A rank that runs the communicator conformance suite over MPI and prints its report.
 */
import { destroyProcessGroup, groupNamed, initProcessGroup } from '@tessera/distributed';
import { runCommunicatorConformance } from '../../src/communicator-conformance/run-communicator-conformance.js';

await initProcessGroup({ timeout: 30_000 });
const report = await runCommunicatorConformance(groupNamed().communicator);
await destroyProcessGroup();
console.log(`report ${JSON.stringify(report)}`);
