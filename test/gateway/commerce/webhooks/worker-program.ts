/** A process that sends webhooks as a gateway does; a test kills it. */
import { randomBytes } from 'node:crypto';
import { connectRedis } from '../../../../data/runtime/redis.ts';
import { readSettings } from '../../../../data/runtime/settings.ts';
import { Webhooks } from '../../../../gateway/commerce/notifications/webhooks/webhooks.ts';
import { silentLog } from '../../../redis-server.ts';

const settings = readSettings();
const redis = connectRedis(settings, silentLog, 'jobs');
const webhooks = new Webhooks({ redis, now: Date.now, random: randomBytes, allowsPrivate: true });
webhooks.startWorker(connectRedis(settings, silentLog, 'jobs'), silentLog);
