/** More work of one kind waits than can be done in good time. Nothing is wrong with the request: it may come again. */
export class QueueFull extends Error {
  override name = 'QueueFull';
}
