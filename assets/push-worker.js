// Shows what the service tells a browser while no page of the site is open. The message has the form
// of a declarative push message; browsers that show those by themselves do not start this worker.
self.addEventListener('push', (event) => {
  const { title, navigate, ...options } = event.data.json().notification;
  event.waitUntil(self.registration.showNotification(title, { ...options, data: { navigate } }));
});
self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.navigate));
});
