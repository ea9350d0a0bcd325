/**
 * A thread that is a rank: runs the suite over message ports and answers with its report.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { runCommunicatorConformance } from '../../src/communicator-conformance/run-communicator-conformance.js';
import { Mailbox, portCommunicator } from './port-communicator.js';

const { rank, ports } = workerData as { rank: number; ports: (MessagePort | null)[] };
const communicator = portCommunicator(
  new Mailbox(ports),
  ports.map((_, other) => other),
  rank,
);
parentPort!.postMessage(await runCommunicatorConformance(communicator));
process.exit(0);
