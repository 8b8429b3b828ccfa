/** Each row of the operator table: its page answers, shows what it should, and takes what it should. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdminService, startAdmin, type Visitor, wordsOf } from './harness.ts';

describe('operator routes', () => {
  let service: AdminService;
  let operator: Visitor;
  beforeAll(async () => {
    service = await startAdmin();
    operator = await service.signedIn();
  });
  afterAll(() => service.stop());

  it('GET /admin/: dashboard', async () => {
    const page = await operator.get('/admin/');
    expect(page.status).toBe(200);
    expect(wordsOf(page)).toContain('Snapshot');
    expect(wordsOf(page)).toContain('Requests');
  });
});
