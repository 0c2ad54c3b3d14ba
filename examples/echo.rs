//! A server that sends back what it hears, through the framing of the product's own sockets: a suite of WebSocket cases
//! needs an echo (`.ci/websocket`). Prints where it listens.

use std::future::ready;
use std::net::TcpListener;

use actix_http::HttpService;
use actix_service::{ServiceFactoryExt, fn_factory, map_config};
use actix_web::dev::{AppConfig, Server};
use actix_web::{App, Error, HttpRequest, HttpResponse, web};
use tokio_util::task::TaskTracker;
use waypost::connections::Connections;
use waypost::socket::{self, Frame, Message, Messages, Out};

/// The largest message that the suite sends.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("echo listens on {}", listener.local_addr()?);
    let sockets = TaskTracker::new();
    let served = move || {
        let application =
            || map_config(App::new().route("/", web::get().to(open)), |()| AppConfig::default());
        let upgrade = socket::switching(application(), sockets.clone());
        let http = HttpService::build().upgrade(upgrade).finish(application());
        let connections = Connections::new(None);
        fn_factory(move || ready(Ok(connections.clone()))).and_then(http)
    };
    Server::build().workers(1).listen("echo", listener, served)?.run().await
}

async fn open(request: HttpRequest) -> Result<HttpResponse, Error> {
    let answer = socket::handshake(&request, &[])?;
    Ok(socket::serve(answer, MAX_MESSAGE_BYTES, echo))
}

async fn echo(mut out: Out, mut messages: Messages) {
    let goodbye = loop {
        match messages.next().await {
            Some(Ok(Message::Text(text))) => out.give(Frame::text(&text)),
            Some(Ok(Message::Binary(bytes))) => out.give(Frame::binary(&bytes)),
            Some(Ok(Message::Ping(payload))) => out.give(Frame::pong(&payload)),
            Some(Ok(Message::Pong)) => {}
            Some(Ok(Message::Close(code))) => break Some(Frame::close_answer(code)),
            Some(Err(why)) => {
                break why.close(MAX_MESSAGE_BYTES).map(|(code, _, detail)| Frame::close(code, &detail));
            }
            None => break None,
        }
        if out.flush().await.is_err() {
            return;
        }
    };
    if let Some(goodbye) = goodbye {
        out.close(goodbye).await;
    }
}
