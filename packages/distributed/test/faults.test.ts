/**
 * What a job does when a rank fails, leaves, disagrees or does not come: it ends soon and says who and why.
 */
import { describe, expect, it } from 'vitest';
import { type JobResult, NOT_RUN, hasMpi, mpirun } from './support/mpirun.js';

const LIMIT = { timeout: 90_000 };

/** Runs a fault of `programs/faults.ts`. */
function fault(name: string, ranks: number, env: Record<string, string> = {}): Promise<JobResult> {
  return mpirun(ranks, 'faults', { args: [name], env });
}

const MISMATCH = 'distributed-mismatch';
const TIMEOUT = 'distributed-timeout';

/** What the program printed; MPI's own libraries may complain of work that was given up. */
const lines = ({ stdout }: JobResult): string[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('rank'))
    .sort();

describe.skipIf(!hasMpi)(`faults under mpirun${NOT_RUN}`, () => {
  for (const [name, message] of [
    ['throws', 'the data of rank 1 are bad'],
    ['rejects', 'nobody caught this'],
    ['throws while others wait without an event loop', 'the data of rank 1 are bad'],
  ] as const) {
    it(`a rank that ${name} ends the job with its message`, LIMIT, async () => {
      const { status, stderr, hung } = await fault(name, 3);
      expect(status).not.toBe(0);
      expect(stderr.split(`Error: ${message}`).length - 1).toBe(1);
      expect(hung).toBe(false);
    });
  }

  it('a rank that is killed ends the job', LIMIT, async () => {
    const { status, hung } = await fault('killed', 3);
    expect(status).not.toBe(0);
    expect(hung).toBe(false);
  });

  it('ranks that wait for one that has ended are told so', LIMIT, async () => {
    const collective = await fault('leaves early', 3);
    expect(lines(collective)).toEqual(
      [0, 2].map(
        (rank) =>
          `rank ${rank}: ${MISMATCH}: Rank 1 has ended after 1 collectives of group 'world', and this rank waits for it in collective 2: all_reduce(float32[4], sum).`,
      ),
    );
    const message = await fault('leaves early from a message', 2);
    expect(lines(message)).toEqual([
      `rank 0: ${MISMATCH}: Rank 1 has ended, and this rank waits for it in recv(float32[4], from 1, tag 0).`,
    ]);
    const flight = await fault('exits with work in flight', 2);
    expect(flight.status).not.toBe(0);
    expect(flight.stdout).toContain('Rank 1 has ended');
  });

  it(
    'a message that is shorter or longer than expected is an error, and the next one arrives',
    LIMIT,
    async () => {
      const result = await fault('messages of other lengths', 2);
      expect(lines(result)).toEqual([
        'rank 0 has 1,1,1',
        `rank 0: ${MISMATCH}: recv(float32[3], from 1, tag 0): rank 1 sent 2 elements.`,
        `rank 0: ${MISMATCH}: recv(float32[3], from 1, tag 0): rank 1 sent 5 elements.`,
        'rank 1 has 1,1,1',
      ]);
      expect(result.status).toBe(0);
    },
  );

  it('a message of another dtype is an error, and the next one arrives', LIMIT, async () => {
    const result = await fault('messages of another dtype', 2);
    expect(lines(result)).toEqual([
      'rank 0 has 1,1,1',
      `rank 0: ${MISMATCH}: recv(int32[3], from 1, tag 0): rank 1 sent float32[3].`,
      'rank 1 has 1,1,1',
    ]);
    expect(result.status).toBe(0);
  });

  it('a rank may end before the others, and without destroyProcessGroup()', LIMIT, async () => {
    const result = await fault('ends before the others', 3);
    expect(result.stderr).toBe('');
    expect(result.status).toBe(0);
    expect(lines(result)).toEqual(['rank 0 went on alone', 'rank 2 went on alone']);
  });

  const differ = (zero: string, one: string): string =>
    `The ranks of group 'world' do not call the same collective number 2: ranks 0 and 2: ${zero}; rank 1: ${one}. Nothing was sent.`;
  it.each([
    ['another operation', 'all_reduce(float32[2], sum)', 'broadcast(float32[2], root 0)'],
    ['another dtype', 'all_reduce(float32[2], sum)', 'all_reduce(float64[2], sum)'],
    ['another size', 'all_reduce(float32[2], sum)', 'all_reduce(float32[6], sum)'],
    ['another reduction', 'all_reduce(float32[2], min)', 'all_reduce(float32[2], max)'],
    ['another root', 'reduce(float32[2], sum, root 0)', 'reduce(float32[2], sum, root 1)'],
  ])('%s is distributed-mismatch on every rank', LIMIT, async (name, zero, one) => {
    const result = await fault(name, 3);
    expect(result.stderr).toBe('');
    expect(lines(result)).toEqual(
      [0, 1, 2].map((rank) => `rank ${rank}: ${MISMATCH}: ${differ(zero, one)}`),
    );
  });

  it('with TESSERA_DISTRIBUTED_DEBUG=1 shapes are compared, too', LIMIT, async () => {
    const result = await fault('another shape', 3, { TESSERA_DISTRIBUTED_DEBUG: '1' });
    expect(result.stderr).toBe('');
    const message = differ('all_reduce(float32[2], sum)', 'all_reduce(float32[2, 1], sum)');
    expect(lines(result)).toEqual([0, 1, 2].map((rank) => `rank ${rank}: ${MISMATCH}: ${message}`));
  });

  it('counts of allToAll that do not fit are refused on every rank', LIMIT, async () => {
    const result = await fault('other counts', 3);
    expect(result.stderr).toBe('');
    expect(lines(result)).toHaveLength(3);
    expect(result.stdout).toContain('rank 0 expects 1 elements from rank 1, which sends 2');
  });

  it('groups check their own collectives', LIMIT, async () => {
    const result = await fault('another order in a group', 3);
    expect(result.stderr).toBe('');
    const message =
      "The ranks of group 'world.1' do not call the same collective number 1: rank 0: all_reduce(float32[2], sum); rank 1: barrier(). Nothing was sent.";
    expect(lines(result)).toEqual([0, 1].map((rank) => `rank ${rank}: ${MISMATCH}: ${message}`));
  });

  it('a rank that never comes is named, with where it is', LIMIT, async () => {
    const result = await fault('never comes', 3, { TESSERA_DISTRIBUTED_TIMEOUT: '1500' });
    // The first rank that gives up ends the job, perhaps before another has said so.
    expect(lines(result).length).toBeGreaterThan(0);
    for (const line of lines(result))
      expect(line).toMatch(
        /Collective 2 of group 'world', all_reduce\(float32\[4\], sum\), waited longer than 1500 ms for rank 1 \(rank 1 is after collective 1, all_reduce\(float32\[4\], sum\)\)\. Rank [02] gave up\.$/,
      );
  });

  it('a process that does not even answer is named as such', LIMIT, async () => {
    const result = await fault('is stopped', 2, { TESSERA_DISTRIBUTED_TIMEOUT: '1500' });
    expect(result.stdout).toContain('for rank 1 (rank 1 does not answer). Rank 0 gave up.');
    expect(result.status).not.toBe(0);
  });

  it('a message that is not sent is distributed-timeout', LIMIT, async () => {
    const result = await fault('no message', 2, { TESSERA_DISTRIBUTED_TIMEOUT: '1500' });
    expect(lines(result)[0]).toBe(
      `rank 0: ${TIMEOUT}: recv(float32[4], from 1, tag 0) waited longer than 1500 ms for rank 1.`,
    );
  });
});
