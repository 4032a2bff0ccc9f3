def test_it(client):
    r = client.get('/v1/models'); print(r.json(), dict(r.headers))
    r = client.post('/v1/translate', json={'text':'the man sees a dog .  A cat sleeps.\n\nThe girls read .', 'source':'en','target':'fr','nbest':2,'links':True,'alignment':True}); print(r.status_code, r.text[:1500])
    r = client.post('/v1/translate?stream=true', json={'text':'the man sees a dog .  A cat sleeps.', 'model':'en-fr','beam':1}); print(r.status_code, r.text[-3000:])
    for p,b in [('/v1/align',{'source_text':'the dog .','target_text':['le chien .'],'model':'en-fr'}),('/v1/align',{'source_text':'the dog .','target_text':'le chien .','model':'en-fr','posterior':True}),('/v1/score',{'source_text':'the dog .','target_text':'le chien .','model':'en-fr'}),('/v1/score',{'source_text':4,'target_text':'le chien .','model':'en-fr'}), ('/v1/translate',{'text':['a',4]}),('/v1/translate',{'text':'a\0','model':'x'*500}),('/v1/translate',{'text':'a','model':'xx'}),('/v1/translate',{'text':'a'}),('/v1/translate',{'text':'a','bam':3}),('/v1/translate',{'text':'a','source':'en','beam':3.5}),('/v1/translate',{'text':'a','source':'en','beam':0}),]:
        r = client.post(p, json=b); print(p, r.status_code, r.text[:600])
    for raw in (b'{', b'['*100000, b'{"text": "\\ud800", "model":"en-fr"}', b'\xff', b'', b'{"text": '+b'9'*5000+b'}', b'null'):
        r = client.post('/v1/translate', content=raw, headers={'content-type':'application/json'}); print(raw[:20], r.status_code, r.text[:300])
    r = client.post('/v1/translate', content=b'{"text":"a","model":"en-fr"}', headers={'content-type':'text/plain'}); print(r.status_code, r.text[:300])
    r = client.post('/v1/translate', content=b'{"text":"a","model":"en-fr"}'); print(r.status_code, r.text[:300])
    for p in ('/', '/docs','/openapi.json','/metrics','/health','/ready','/languages','/frontend/settings','/nope','/v1/translate', '/../../etc/passwd'):
        r = client.get(p); print(p, r.status_code, r.headers['content-type'], r.text[:200].replace('\n',' '))
    for b in ({'q':'the dog .','source':'en','target':'fr'},{'q':['the dog .','a'],'source':'auto','target':'fr','alternatives':2},{'q':'the dog','source':'de','target':'fr'},{'q':'the dog','source':'fr','target':'fr'},{'source':'fr','target':'fr'}):
        print(client.post('/translate', json=b).text, client.post('/translate', data=b).text)
    print(client.post('/detect', data={'q':'the dog is there'}).text)
    assert 0
